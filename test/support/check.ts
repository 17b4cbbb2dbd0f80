/** `npm run check`: the checks before the tests. Every step runs, even after a failure, so that one run shows all errors. */
import { spawnSync } from 'node:child_process';

const steps: readonly { name: string; command: string; args: readonly string[] }[] = [
  { name: 'types and forbidden imports', command: 'tsc', args: ['-b'] },
  { name: 'lint and format', command: 'biome', args: ['check', '--error-on-warnings', '.'] },
  { name: 'dead code and unused dependencies', command: 'knip', args: [] },
  { name: 'generated files', command: process.execPath, args: ['test/support/generate.ts', '--check'] },
];

let failed = 0;
for (const { name, command, args } of steps) {
  const startedMs = performance.now();
  const { status, error } = spawnSync(command, args, { stdio: 'inherit' });
  const ok = status === 0 && !error;
  if (!ok) failed++;
  console.log(
    `${ok ? 'ok    ' : 'FAILED'} ${name} (${((performance.now() - startedMs) / 1000).toFixed(1)} s)${error ? `: ${error.message}` : ''}`,
  );
}
process.exit(failed > 0 ? 1 : 0);
