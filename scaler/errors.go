package scaler

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/leadsman/leadsman/scaler/internal/query"
	"github.com/leadsman/leadsman/scaler/internal/sample"
	"github.com/leadsman/leadsman/storage"
)

var errNoWorkers = errors.New("metric utilization: this source keeps no registry of workers; use outstanding or ready")

// status turns any error of a handler into the one status that its client gets. What could not be read is
// Unavailable whatever the reason, for KEDA's fallback; the reason is in the text. An error that nobody expected is
// logged, and its text stays here.
func (s *Server) status(err error) error {
	var (
		known    interface{ GRPCStatus() *status.Status } // grpc's own, and package auth's
		faults   *query.Error
		unread   *storage.Error
		deadline = errors.Is(err, context.DeadlineExceeded)
	)
	switch {
	case err == nil, errors.Is(err, errMoved):
		return nil
	case errors.As(err, &unread): // before grpc's own: an engine may wrap the status of a server that it asks
		return status.Error(codes.Unavailable, unread.Error())
	case errors.As(err, &known):
		return known.GRPCStatus().Err()
	case errors.As(err, &faults):
		return status.Error(codes.InvalidArgument, err.Error())
	case errors.Is(err, errNoWorkers):
		return status.Error(codes.FailedPrecondition, err.Error())
	case errors.Is(err, sample.ErrTooManyQueues):
		return status.Error(codes.ResourceExhausted, err.Error())
	case errors.Is(err, sample.ErrClosed):
		return status.Error(codes.Unavailable, err.Error())
	case deadline:
		return status.Error(codes.DeadlineExceeded, "no answer in time")
	case errors.Is(err, context.Canceled):
		return status.Error(codes.Canceled, "the caller went away")
	default:
		s.log.Error("a call failed for an unexpected reason", "error", err)
		return status.Error(codes.Internal, "internal error; the server's log has the reason")
	}
}
