package bull_test

import (
	"testing"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/bull"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

func FuzzPlan(f *testing.F) { redistest.Fuzz(f, bull.Preset.Redis, driver.RedisOptions{}) }

func TestHostileValuesCostNoMoreThanTheirSize(t *testing.T) {
	redistest.Hostile(t, bull.Preset.Redis, driver.RedisOptions{})
}

func TestQueuesOfOddNamesAreReadByThem(t *testing.T) {
	redistest.Names(t, bull.Preset.Redis, driver.RedisOptions{}, newFixture)
}
