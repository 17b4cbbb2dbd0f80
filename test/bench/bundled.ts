/** The programs as an image has them: bundles beside `package.json`, with lmdb. */
import { execFileSync } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProgramRole } from '../../center/supervisor/programs.ts';
import type { Scratch } from './scratch.ts';

const root = join(import.meta.dirname, '../..');

/** The path of each program, until the run is over. */
export function bundledPrograms(scratch: Scratch): (role: ProgramRole) => string {
  const app = scratch.directory();
  execFileSync(process.execPath, [join(root, 'test/support/build.ts'), join(app, 'dist')], { cwd: root });
  writeFileSync(join(app, 'package.json'), readFileSync(join(root, 'package.json')));
  symlinkSync(join(root, 'node_modules'), join(app, 'node_modules'));
  return (role) => join(app, 'dist', `${role}.js`);
}
