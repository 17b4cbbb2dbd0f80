import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { foreignRuntime, runtime } from '../../../../deploy/image/runtime.ts';

const program = Buffer.from('a program');
const sha256 = createHash('sha256').update(program).digest('hex');

describe('the Node of the image', () => {
  it('is only the program with the recorded digest', () => {
    const known = { version: '26.0.0', sha256: { x64: sha256 } };
    expect(foreignRuntime(program, 'x64', known)).toBeUndefined();
    expect(foreignRuntime(Buffer.from('another'), 'x64', known)).toMatch(
      `deploy/image/runtime.json says ${sha256} for 26.0.0 on x64: run npm ci again`,
    );
    expect(foreignRuntime(program, 'riscv64', known)).toBe(
      'deploy/image/runtime.json has no digest for riscv64: it has x64',
    );
  });

  it('is the installed one, of the version in package.json', () => {
    const { devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      devDependencies: { node: string };
    };
    expect(runtime.version).toBe(devDependencies.node);
    if (process.platform !== 'linux') return;
    expect(foreignRuntime(readFileSync('node_modules/node/bin/node'), process.arch, runtime)).toBeUndefined();
  });
});
