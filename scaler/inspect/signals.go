package inspect

import (
	"context"

	leadsmanv1 "github.com/leadsman/leadsman/proto/leadsman/v1"
	"github.com/leadsman/leadsman/scaler"
)

// signals is leadsman.v1.Signals: what a producer tells, beside what people ask.
type signals struct {
	leadsmanv1.UnimplementedSignalsServer

	scaler *scaler.Server
}

// Signal implements Signals.
func (s *signals) Signal(ctx context.Context, req *leadsmanv1.SignalRequest) (*leadsmanv1.SignalResponse, error) {
	id, err := s.scaler.Identify(ctx)
	if err != nil {
		return nil, s.scaler.Status(err)
	}
	reach, err := s.scaler.SignalAs(id, req.GetSource(), req.GetQueue())
	if err != nil {
		return nil, s.scaler.Status(err)
	}
	return &leadsmanv1.SignalResponse{
		StreamsTold: int32(reach.Streams), StreamsWaiting: int32(reach.Waiting), //nolint:gosec // they fit
	}, nil
}
