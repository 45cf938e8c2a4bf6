package redisstream_test

import (
	"os"
	"testing"

	"github.com/leadsman/leadsman/storage/storagetest"
)

func TestMain(m *testing.M) { os.Exit(storagetest.Main(m)) }
