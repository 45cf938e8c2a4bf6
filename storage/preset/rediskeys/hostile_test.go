package rediskeys_test

import (
	"testing"

	"github.com/leadsman/leadsman/storage/preset/rediskeys"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

func FuzzPlan(f *testing.F) { redistest.Fuzz(f, rediskeys.Preset.Redis, beeQueue) }

func TestHostileValuesCostNoMoreThanTheirSize(t *testing.T) {
	redistest.Hostile(t, rediskeys.Preset.Redis, beeQueue)
}

func TestQueuesOfOddNamesAreReadByThem(t *testing.T) {
	redistest.Names(t, rediskeys.Preset.Redis, beeQueue, newFixture)
}
