package scaler

import (
	"context"
	"errors"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"

	"github.com/leadsman/leadsman/scaler/internal/query"
)

// errMoved ends a stream whose metadata mean something else by the rules in force now: where they name no source,
// the only one that the caller may see has become another. The stream ends cleanly, and KEDA is back in 2 s.
var errMoved = errors.New("the trigger means something else now")

// recheck is how often a permit that expires is in doubt at least. It ends at a time of day, and no timer tells when
// somebody puts the clock forward past that.
const recheck = 30 * time.Second

// A permit is an open stream's leave to stay open. It is in doubt when the access rules change and when the caller's
// credential may have expired; then it has to be renewed.
type permit struct {
	server  *Server
	query   *query.Query     // what the stream was admitted for
	changed <-chan struct{}  // closed when the rules have changed
	expired <-chan time.Time // when the credential may have expired; nil when it does not
}

// permit makes the permit of an admitted call. changed was taken before the call was admitted, so that no change
// falls between.
func (s *Server) permit(changed <-chan struct{}, a *asker) permit {
	p := permit{server: s, query: a.query, changed: changed}
	if !a.expires.IsZero() {
		p.expired = time.After(min(time.Until(a.expires), recheck))
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
	if *a.query != *p.query {
		return errMoved
	}
	*p = p.server.permit(changed, &a)
	return nil
}
