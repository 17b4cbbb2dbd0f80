import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

/** The three parts of the tests. They run one after the other, each with as many workers as its kind of work can use on two cores. */
export default defineConfig({
  test: {
    // A hanging test ends here. The limit is high enough for a slow machine with other work. Tests of promised times assert the times themselves.
    testTimeout: 400_000,
    hookTimeout: 400_000,
    expect: { poll: { timeout: 20_000 } },
    // End-to-end tests start hundreds of processes from sources. With their compiled forms from an earlier start, a start takes 0.5 s of processor time instead
    // of 1.2 s.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, 'node_modules/.cache/banyan') },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/{unit,contract,transcripts}/**/*.test.ts'],
          // Loading the product takes longer than most of these tests. Without isolation, a worker loads each module once.
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
          // Trees of processes wait more than they work. With a fourth worker, a process sometimes gets no processor time for longer than a test expects.
          maxWorkers: 3,
          sequence: { groupOrder: 2 },
        },
      },
      {
        extends: true,
        test: {
          name: 'long',
          include: ['test/long/**/*.test.ts'],
          // Tests of storms, slow lines and full disks have deadlines of their own, and need the whole machine.
          maxWorkers: 1,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
