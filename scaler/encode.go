package scaler

import (
	"math"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"

	"github.com/leadsman/leadsman/scaler/internal/query"
)

// KEDA reads the float field if it is above zero and the integer otherwise; up to 2.16 it knows the integer alone.
// So both are set, and the integer is rounded up: a fraction of a job needs a worker too.

func encodeSpec(q *query.Query) *pb.GetMetricSpecResponse {
	return &pb.GetMetricSpecResponse{MetricSpecs: []*pb.MetricSpec{{
		MetricName:      q.Name,
		TargetSize:      roundUp(q.Target),
		TargetSizeFloat: q.Target,
	}}}
}

// encodeValue answers under the name that was asked for, in the letter case that was asked for: KEDA may have
// lower-cased it on the way.
func encodeValue(q *query.Query, requested string, value float64) *pb.GetMetricsResponse {
	name := requested
	if name == "" {
		name = q.Name
	}
	return &pb.GetMetricsResponse{MetricValues: []*pb.MetricValue{{
		MetricName:       name,
		MetricValue:      roundUp(value),
		MetricValueFloat: value,
	}}}
}

func roundUp(x float64) int64 { return int64(math.Ceil(x)) }
