package web

import (
	"net/http"

	"github.com/leadsman/leadsman/scaler"
)

// liveness is what /health says.
type liveness struct {
	Status  string   `json:"status"`            // "ok" or "stalled"
	Stalled []string `json:"stalled,omitempty"` // the loops that stand still
}

// health tells whether the process is at work. It asks no backend: to start a server again mends no database.
func (h *handler) health(w http.ResponseWriter, _ *http.Request) {
	if stalled := h.scaler.Stalled(); len(stalled) > 0 {
		h.log.Error("loops stand still; the process had better be started again", "stalled", stalled)
		reply(w, http.StatusServiceUnavailable, liveness{Status: "stalled", Stalled: stalled})
		return
	}
	reply(w, http.StatusOK, liveness{Status: "ok"})
}

// readiness is what /readiness says.
type readiness struct {
	Ready   bool          `json:"ready"`
	Serving bool          `json:"serving"` // false while the server starts, and from the beginning of its end
	Sources []sourceState `json:"sources"`
}

// A sourceState is one source of a readiness. Everybody may ask for it, so the reason is one word; the log and the
// Inspector have the error.
type sourceState struct {
	Name   string             `json:"name"`
	State  scaler.SourceState `json:"state"`
	Reason string             `json:"reason,omitempty"`
	// AgeSeconds is the age of the newest good sample; absent before the first.
	AgeSeconds float64 `json:"ageSeconds,omitempty"`
}

// readiness tells whether the server should be asked: it serves, and can read one of its sources at least.
func (h *handler) readiness(w http.ResponseWriter, r *http.Request) {
	got := h.scaler.Readiness(r.Context())
	out := readiness{Ready: got.Ready(), Serving: got.Serving, Sources: make([]sourceState, len(got.Sources))}
	for i, src := range got.Sources {
		out.Sources[i] = sourceState{Name: src.Name, State: src.State, Reason: src.Kind, AgeSeconds: seconds(src.Age)}
	}
	code := http.StatusOK
	if !out.Ready {
		code = http.StatusServiceUnavailable
	}
	reply(w, code, out)
}
