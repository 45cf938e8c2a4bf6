package main

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	leadsmanv1 "github.com/leadsman/leadsman/proto/leadsman/v1"
	"github.com/leadsman/leadsman/storage/driver"
)

// source asks leadsman how it is doing with the source under measurement.
func (b *bed) source(p *process) *leadsmanv1.Source {
	conn, err := grpc.NewClient(p.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	b.must(err)
	defer conn.Close()
	list, err := leadsmanv1.NewInspectorClient(conn).ListSources(b.ctx, &leadsmanv1.ListSourcesRequest{})
	b.must(err)
	return list.GetSources()[0]
}

// awaitMode waits until leadsman notices changes in the way that is to be measured. The queue of the race is asked for,
// because some ways show only then whether they are open.
func (b *bed) awaitMode(p *process, c client, want driver.Mode) {
	_, err := c.IsActive(b.ctx, c.object(0, wakeQueue))
	b.must(err)
	for deadline := time.Now().Add(startTimeout); ; time.Sleep(20 * time.Millisecond) {
		source := b.source(p)
		if source.GetPushMode() == string(want) && source.GetPushReason() != "starting" {
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("leadsman's push mode is %q (%s), not %q", source.GetPushMode(), source.GetPushReason(), want)
		}
	}
}
