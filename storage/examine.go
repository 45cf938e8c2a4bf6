package storage

import (
	"context"

	"github.com/leadsman/leadsman/storage/driver"
)

// Examine tells what the engine finds out about its backend beside the queues; nil where the engine has nothing to tell.
// Every error is an *Error. Secrets are taken out of the findings.
func (s *Source) Examine(ctx context.Context) ([]driver.Finding, error) {
	examiner, ok := s.reader.(driver.Examiner)
	if !ok {
		return nil, nil
	}
	findings, err := examiner.Examine(ctx)
	if err != nil {
		return nil, s.wrap(ctx, err)
	}
	for i := range findings {
		findings[i].Found = s.redact(findings[i].Found)
		findings[i].Remedy = s.redact(findings[i].Remedy)
	}
	return findings, nil
}
