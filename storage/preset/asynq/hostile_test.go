package asynq_test

import (
	"testing"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/asynq"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

func FuzzPlan(f *testing.F) { redistest.Fuzz(f, asynq.Preset.Redis, driver.RedisOptions{}) }

func TestHostileValuesCostNoMoreThanTheirSize(t *testing.T) {
	redistest.Hostile(t, asynq.Preset.Redis, driver.RedisOptions{})
}

func TestQueuesOfOddNamesAreReadByThem(t *testing.T) {
	redistest.Names(t, asynq.Preset.Redis, driver.RedisOptions{}, newFixture)
}
