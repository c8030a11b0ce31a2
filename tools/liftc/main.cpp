#include "lift/command_line.hpp"

int main(int argc, char** argv) { return lift::commandLine(argc, argv); }
