package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// getOverHTTP asks the script's server over HTTP and expects a status: get STATUS PATH [TOKEN]. The answer is then in
// the file body.
func getOverHTTP(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: get STATUS PATH [TOKEN]")
	}
	url := "http://" + ts.Getenv("LEADSMAN_HTTP_LISTEN") + args[1]
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, http.NoBody)
	ts.Check(err)
	if len(args) > 2 {
		req.Header.Set("Authorization", "Bearer "+args[2])
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	resp, err := client.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("body"), body, 0o600))
	if strconv.Itoa(resp.StatusCode) != args[0] {
		ts.Fatalf("%s: status %d, want %s: %s", args[1], resp.StatusCode, args[0], body)
	}
}
