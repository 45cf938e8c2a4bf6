package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// A network is the way from leadsman to its database, as a proxy that can be told to misbehave.
type network struct{ proxy *toxiproxy.Proxy }

// newNetwork makes a way to an address. It ends with the test.
func newNetwork(t *testing.T, to string) *network {
	t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	n := &network{toxiproxy.NewProxy(server, t.Name(), "127.0.0.1:0", to)}
	if err := n.proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.proxy.Stop)
	return n
}

// address is where the way begins.
func (n *network) address() string { return n.proxy.Listen }

// attributes are those of a toxic, as toxiproxy's manual names them.
type attributes map[string]int

// suffers adds a toxic to both directions.
func (n *network) suffers(t *testing.T, toxic string, with attributes) {
	t.Helper()
	n.suffersOneWay(t, "upstream", toxic, with)
	n.suffersOneWay(t, "downstream", toxic, with)
}

// suffersOneWay adds a toxic to one direction: upstream is to the database, downstream is from it.
func (n *network) suffersOneWay(t *testing.T, direction, toxic string, with attributes) {
	t.Helper()
	order, err := json.Marshal(map[string]any{"type": toxic, "stream": direction, "attributes": with})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.proxy.Toxics.AddToxicJson(bytes.NewReader(order)); err != nil {
		t.Fatal(err)
	}
}

// heals removes all toxics.
func (n *network) heals() { n.proxy.Toxics.ResetToxics(context.Background()) }

// breaks ends all connections and refuses new ones until mended.
func (n *network) breaks() { n.proxy.Stop() }

// mended takes connections again.
func (n *network) mended(t *testing.T) {
	t.Helper()
	if err := n.proxy.Start(); err != nil {
		t.Fatal(err)
	}
}
