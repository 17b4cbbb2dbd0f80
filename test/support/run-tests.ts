/**
 * `npm test`: every test that this machine can run. What it can't run is listed by name with the reason, and counts as failed when
 * BANYAN_TEST_REQUIRE=all, unless nothing that could be installed would help. The last line of all is `N passed, N failed, N skipped`.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { impossible } from './impossible.ts';

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

const requireAll = process.env.BANYAN_TEST_REQUIRE === 'all';
const directory = mkdtempSync(join(tmpdir(), 'banyan-test-'));
const reportFile = join(directory, 'report.json');
const exit = await vitest([
  'run',
  '--reporter=default',
  '--reporter=json',
  `--outputFile.json=${reportFile}`,
  ...process.argv.slice(2),
]);
const report = JSON.parse(readFileSync(reportFile, 'utf8')) as Report;
rmSync(directory, { recursive: true });

const tests = report.testResults.flatMap((file) => file.assertionResults);
const brokenFiles = report.testResults.filter((file) => file.status === 'failed' && file.assertionResults.length === 0);
const skipped = tests.filter(
  (test) => test.status === 'pending' || test.status === 'skipped' || test.status === 'todo',
);
const passed = tests.filter((test) => test.status === 'passed').length;
let failed = tests.filter((test) => test.status === 'failed').length + brokenFiles.length;

for (const file of brokenFiles)
  console.log(`failed before its first test: ${file.name}: ${file.message.split('\n')[0]}`);
if (skipped.length > 0) {
  console.log('\nNot run on this machine (the reason is in the name):');
  for (const test of skipped) console.log(`  ${test.fullName}`);
}
const required = requireAll ? skipped.filter(({ fullName }) => !fullName.includes(impossible)) : [];
if (required.length > 0) {
  console.log(`BANYAN_TEST_REQUIRE=all: ${required.length} tests that did not run count as failed`);
  failed += required.length;
}
console.log(`${passed} passed, ${failed} failed, ${skipped.length - required.length} skipped`);
process.exit(failed > 0 || (exit !== 0 && passed === 0) ? 1 : 0);

function vitest(args: readonly string[]): Promise<number> {
  const child = spawn('vitest', args, { stdio: 'inherit' });
  return new Promise((done, fail) => {
    child.once('error', fail);
    child.once('exit', (code) => done(code ?? 1));
  });
}
