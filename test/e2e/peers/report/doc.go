// Package report is how what package peers has measured is shown: Markdown tables, which are for a terminal too, and a plot.
// Ratios come first, for they are what travels from one machine to another.
package report
