/**
 * Writes rendered files into a folder. The folder belongs to the command alone: the list SHA256SUMS says which files it has written, so that it replaces and
 * removes only those, and none that a person has changed.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describeError } from '../../core/runtime/errors.ts';
import { writeWhole } from '../../core/runtime/whole-file.ts';
import { UsageError } from './usage-error.ts';

const listName = 'SHA256SUMS';

/** Throws UsageError, and then nothing has changed, if the folder has files that the command has not written, or that were changed since. */
export function writeFolder(folder: string, files: ReadonlyMap<string, string>): void {
  const written = readList(folder);
  const present = filesIn(folder);
  for (const file of present) checkOurs(folder, file, files.get(file), written.get(file));
  for (const [file, text] of files) put(join(folder, file), text);
  for (const file of present) if (!files.has(file)) rmSync(join(folder, file));
  // The list comes last: files that an interrupted run has written already are those of the next run.
  const lines = [...files].map(([file, text]) => `${hashOf(text)}  ${file}\n`);
  put(join(folder, listName), lines.sort().join(''));
}

function checkOurs(folder: string, file: string, wanted: string | undefined, written: string | undefined): void {
  const hash = hashOf(readFileSync(join(folder, file), 'utf8'));
  if (hash === written || (wanted !== undefined && hash === hashOf(wanted))) return;
  throw new UsageError(
    written === undefined
      ? `-o: ${folder} has another file, ${file}: name a new or an empty folder`
      : `-o: ${join(folder, file)} was changed by hand: bring the change into the topology, or remove the file`,
  );
}

/** The paths of all files below the folder, without the list. */
function filesIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  if (!statSync(folder).isDirectory()) throw new UsageError(`-o: ${folder} is no folder: name a new or an empty one`);
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .filter((file) => file !== listName);
}

/** The list has the form of sha256sum. */
function readList(folder: string): ReadonlyMap<string, string> {
  const file = join(folder, listName);
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
  return new Map(
    lines.flatMap((line) => {
      const [, hash = '', name] = /^([0-9a-f]{64}) {2}(.+)$/.exec(line) ?? [];
      return name === undefined ? [] : [[name, hash] as const];
    }),
  );
}

/** Other users read the files too, for example the one that runs the node. */
function put(file: string, text: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o755 });
  } catch (error) {
    throw new UsageError(`-o: ${describeError(error)}`, { cause: error });
  }
  writeWhole(file, text, { mode: 0o644 });
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
