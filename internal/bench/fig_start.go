package main

import "time"

// measureStart is the time from the start of the program to its first healthy answer.
func measureStart(b *bed) []row {
	url := b.cluster().Database(b)
	var ours, limit []time.Duration
	for range pick(b, 10, 3) {
		func() {
			round := b.sub()
			defer round.clean()
			ours = append(ours, round.leadsman(url, nil).took)
			limit = append(limit, round.bare().took)
		}()
	}
	return []row{{
		"start of the program → first healthy answer", took(median(ours)), took(median(limit)), "bare grpc-go server",
		atMost(took(200*time.Millisecond), "200 ms"),
	}}
}
