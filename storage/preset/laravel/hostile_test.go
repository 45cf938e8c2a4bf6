package laravel_test

import (
	"testing"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/laravel"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

func FuzzPlan(f *testing.F) { redistest.Fuzz(f, laravel.Preset.Redis, driver.RedisOptions{}) }

func TestHostileValuesCostNoMoreThanTheirSize(t *testing.T) {
	redistest.Hostile(t, laravel.Preset.Redis, driver.RedisOptions{})
}

func TestQueuesOfOddNamesAreReadByThem(t *testing.T) {
	redistest.Names(t, laravel.Preset.Redis, driver.RedisOptions{}, newRedisFixture)
}
