// Package rig is what tests of the whole are built from: the built binary and other programs as child processes, KEDA's own
// scalers of it, apps that enqueue with real job libraries, and certificates and tokens.
//
// A test binary's TestMain calls [Main]. A program that is no test binary (a benchmark) calls [Remove] at its end, and
// brings a testing.TB of its own. Whatever is made here ends when the test or that TB's cleanups do; a child process
// does not outlive this process in any case, on Linux.
package rig
