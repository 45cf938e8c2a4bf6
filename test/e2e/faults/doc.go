// Package faults does harm to the databases under a running leadsman, to the network between them and to leadsman
// itself, while KEDA's own scalers ask it and listen to it: real signals, a real proxy, real fail-overs.
//
// Each fault is a value that says how it begins and ends; [endures] is the one loop that all of them go through. In each it
// asserts the same: KEDA is told the value that is right, the last known one for a while, or an error, and never
// another value; no push stream ends with an error; every job that came meanwhile has woken its worker soon after the
// end; and no goroutine and no connection is left.
//
// What KEDA was told and how long the return took is logged, and written as a table with -faults.table FILE.
package faults
