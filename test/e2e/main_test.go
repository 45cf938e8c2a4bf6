package e2e

import (
	"testing"

	"github.com/leadsman/leadsman/test/e2e/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }
