package web

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/leadsman/leadsman/scaler/internal/query"
)

// maxBody bounds the body of a request, in bytes.
const maxBody = 16 << 10

// A signalRequest is the body of /api/signal, or its query parameters.
type signalRequest struct {
	Source string `json:"source"` // may be left out when there is one only
	Queue  string `json:"queue"`  // left out for any queue of the source
}

// A signalResponse says whom a signal concerns.
type signalResponse struct {
	StreamsTold    int `json:"streamsTold"`
	StreamsWaiting int `json:"streamsWaiting"`
}

// signal takes a producer's word that a queue may have changed.
func (h *handler) signal(w http.ResponseWriter, r *http.Request) {
	req, err := signalOf(w, r)
	if err != nil {
		h.fail(w, err)
		return
	}
	id, err := h.scaler.Identify(r.Context())
	if err != nil {
		h.fail(w, err)
		return
	}
	reach, err := h.scaler.SignalAs(id, req.Source, req.Queue)
	if err != nil {
		h.fail(w, orNotFound(h.scaler, id, req.Source, err))
		return
	}
	reply(w, http.StatusOK, signalResponse{StreamsTold: reach.Streams, StreamsWaiting: reach.Waiting})
}

// signalOf reads the request: from a JSON body, or from the query where there is no body.
func signalOf(w http.ResponseWriter, r *http.Request) (signalRequest, error) {
	metadata, err := query.FromParameters(r.URL.RawQuery)
	if err != nil {
		return signalRequest{}, invalid("%v", err)
	}
	delete(metadata, "token")
	req := signalRequest{Source: metadata["source"], Queue: metadata["queue"]}
	delete(metadata, "source")
	delete(metadata, "queue")
	for key := range metadata {
		return signalRequest{}, invalid("%.48q is no parameter of a signal; give source and queue", key)
	}
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	decoder.DisallowUnknownFields()
	var body signalRequest
	switch err := decoder.Decode(&body); {
	case errors.Is(err, io.EOF):
		return req, nil
	case err != nil:
		return signalRequest{}, invalid(`the body cannot be read; send {"source": "…", "queue": "…"}, at most %d bytes`, maxBody)
	case req != signalRequest{}:
		return signalRequest{}, invalid("source and queue are in the body and in the query; give them once")
	case decoder.More():
		return signalRequest{}, invalid("the body holds more than one signal; send each by itself")
	}
	return body, nil
}
