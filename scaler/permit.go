package scaler

import (
	"context"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
)

// A permit is an open stream's leave to stay open. It is in doubt when the access rules change and when the caller's
// credential expires; then it has to be renewed.
type permit struct {
	server  *Server
	changed <-chan struct{}  // closed when the rules have changed
	expired <-chan time.Time // nil when the credential does not expire
}

// permit makes the permit of an admitted call. changed was taken before the call was admitted, so that no change
// falls between.
func (s *Server) permit(changed <-chan struct{}, a *asker) permit {
	p := permit{server: s, changed: changed}
	if !a.expires.IsZero() {
		p.expired = time.After(time.Until(a.expires))
	}
	return p
}

// renew admits the call again, by the rules in force now.
func (p *permit) renew(ctx context.Context, ref *pb.ScaledObjectRef) error {
	changed := p.server.access.Changed()
	a, err := p.server.admit(ctx, ref)
	if err != nil {
		return err
	}
	*p = p.server.permit(changed, &a)
	return nil
}
