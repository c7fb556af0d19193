// Package report renders how commands ended, for CI systems: a summary in Markdown, outputs of a step, test results in
// the XML of JUnit, and the plan of a pull request in Markdown. It reads events and plans and writes no file.
//
// Texts of AWS, containers and files are escaped for each format, so that they can neither end a table nor be a command.
// Start reading at [Of].
package report
