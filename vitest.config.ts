import { defineConfig } from 'vitest/config';

/** The three parts of the tests, which run one after the other: each has as many workers as its kind of work can use on two cores. */
export default defineConfig({
  test: {
    // A test that hangs ends here, also beside other work on a slow machine. How long a thing may last is asserted where it is promised.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 20_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/{unit,contract,transcripts}/**/*.test.ts'],
          // Loading the product takes longer than most of these tests: a worker loads each module once.
          isolate: false,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          // Trees of processes wait more than they work. With a fourth, now and then a process has no processor for longer than a test expects.
          maxWorkers: 3,
          sequence: { groupOrder: 2 },
        },
      },
      {
        extends: true,
        test: {
          name: 'long',
          include: ['test/long/**/*.test.ts'],
          // Storms, thin lines and full disks have deadlines of their own, and need the machine for themselves.
          maxWorkers: 1,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
