autocmd BufRead,BufNewFile *.lift setfiletype lift
