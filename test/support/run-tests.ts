/**
 * `npm test`: runs the tests that show the promises. With `--all`: every test. With `--rotating`: a sixth of the long files, which the present commit
 * chooses. With names of files: only these. The output lists the tests that this machine can't run, with the reason. With BANYAN_TEST_REQUIRE=all, these
 * tests count as failed, unless no installation would help. The last line is `N passed, N failed, N skipped`.
 */
import { execFileSync, spawn } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { impossible } from './impossible.ts';
import { rotatingPart } from './rotating-part.ts';

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
  ...selection(process.argv.slice(2)),
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
if (exit !== 0 && failed === 0) {
  console.log(`vitest ended with ${exit} although no test failed: an error outside of the tests stands above`);
  failed++;
}
console.log(`${passed} passed, ${failed} failed, ${skipped.length - required.length} skipped`);
process.exit(failed > 0 ? 1 : 0);

/** The arguments for vitest that choose the files. */
function selection(args: readonly string[]): readonly string[] {
  if (args.includes('--all')) return args.filter((arg) => arg !== '--all');
  if (args.includes('--rotating')) return rotatingFiles();
  if (args.some((arg) => !arg.startsWith('-'))) return args;
  return ['--project=unit', '--project=e2e', ...args];
}

function rotatingFiles(): readonly string[] {
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
  const files = rotatingPart(globSync('test/long/**/*.test.ts'), commit);
  console.log(`commit ${commit} names these long files:\n${files.map((file) => `  ${file}`).join('\n')}`);
  return files;
}

function vitest(args: readonly string[]): Promise<number> {
  const child = spawn('vitest', args, { stdio: 'inherit' });
  return new Promise((done, fail) => {
    child.once('error', fail);
    child.once('exit', (code) => done(code ?? 1));
  });
}
