package rq_test

import (
	"testing"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/rq"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

func FuzzPlan(f *testing.F) { redistest.Fuzz(f, rq.Preset.Redis, driver.RedisOptions{}) }

func TestHostileValuesCostNoMoreThanTheirSize(t *testing.T) {
	redistest.Hostile(t, rq.Preset.Redis, driver.RedisOptions{})
}

func TestQueuesOfOddNamesAreReadByThem(t *testing.T) {
	redistest.Names(t, rq.Preset.Redis, driver.RedisOptions{}, newFixture)
}
