# From a document to the shell script that follows it, and to what the script must print: awk -v dir=DIR/ -f document.awk
# DOC writes DIR/script and DIR/expected. A block of lift is a file, named in its first line `-- NAME`; a block of
# console is commands, `$ COMMAND`, each with what it prints below it.
BEGIN { script = dir "script"; expected = dir "expected" }
/^```lift$/ { block = "name"; next }
/^```console$/ { block = "console"; next }
/^```/ {
  if (block == "lift") print "END_OF_FILE" > script
  block = ""
  next
}
block == "name" { print "cat > " $2 " <<'END_OF_FILE'" > script; block = "lift" }
block == "lift" { print > script }
block == "console" {
  print > expected
  if (/^\$ /) {
    command = substr($0, 3)
    shown = $0
    gsub(/'/, "'\\''", shown)
    print "echo '" shown "'" > script
    print command > script
  }
}
