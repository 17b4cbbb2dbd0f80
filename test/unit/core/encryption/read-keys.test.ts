import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { encryptionConfigSchema, topologyEncryptionSchema } from '../../../../core/encryption/encryption-config.ts';
import { readKeys } from '../../../../core/encryption/read-keys.ts';
import { sealingKey } from '../../../../core/encryption/sealing-keys.ts';

const folder = mkdtempSync(join(tmpdir(), 'banyan-keys-'));
afterAll(() => rmSync(folder, { recursive: true }));

const good = Buffer.alloc(32, 1).toString('base64');
const key = sealingKey(Buffer.alloc(32, 1));
const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const node = (script: string) => [process.execPath, '-e', script];
const badRequest = (message: string) =>
  expect.objectContaining({ code: 'BadRequest', message: expect.stringContaining(message) });

describe('a key file', () => {
  it('is read', () => {
    expect(readKeys({ keyFile: file('good', good) })).toEqual([key]);
  });

  it('that is not there is named, with the field and the remedy', () => {
    const keyFile = join(folder, 'absent');
    expect(() => readKeys({ keyFile })).toThrow(badRequest(`encryption.keyFile: ${keyFile}: can't be read`));
    expect(() => readKeys({ keyFile })).toThrow('put the file with the keys of this node there');
  });

  it('that is a folder, or far too long, is refused', () => {
    expect(() => readKeys({ keyFile: folder })).toThrow(badRequest("can't be read"));
    expect(() => readKeys({ keyFile: file('long', '#'.repeat(65_537)) })).toThrow(badRequest('at most 65536'));
  });
});

describe('a key command', () => {
  it('prints keys', () => {
    expect(readKeys({ keyCommand: node(`console.log(${JSON.stringify(good)})`) })).toEqual([key]);
  });

  it.each([
    [['/absent/program'], "encryption.keyCommand: /absent/program can't be run: ENOENT; run it by hand"],
    [node('process.exit(3)'), 'ended with 3; run it by hand'],
    [node('process.kill(process.pid, "SIGTERM")'), 'ended with SIGTERM; run it by hand'],
    [node('console.log("no key")'), `the output of encryption.keyCommand: ${process.execPath}: line 1 is no base64`],
    [node(''), 'has no key'],
    [node('console.log("#".repeat(70000))'), 'prints more than 65536 bytes'],
  ])('%j is refused with a reason', (keyCommand, message) => {
    expect(() => readKeys({ keyCommand })).toThrow(badRequest(message));
  });

  it('that hangs is ended', () => {
    expect(() => readKeys({ keyCommand: node('setInterval(() => {}, 1000)') }, 200)).toThrow(
      badRequest('has not ended within 0.2 s'),
    );
    // Also if a process of the program has its output and lives on.
    expect(() => readKeys({ keyCommand: ['sh', '-c', 'sleep 3; true'] }, 200)).toThrow(
      badRequest('has not ended within 0.2 s'),
    );
  });
});

describe('the configuration', () => {
  const problem = (value: unknown) => encryptionConfigSchema.safeParse(value).error?.issues[0]?.message;

  it('seals Secrets by default', () => {
    expect(encryptionConfigSchema.parse({ keyFile: 'f' })).toEqual({ resources: ['secrets'], keyFile: 'f' });
    expect(topologyEncryptionSchema.parse({})).toEqual({ resources: ['secrets'] });
  });

  it('needs one place of the keys, and known words', () => {
    expect(problem({})).toContain('needs either keyFile or keyCommand');
    expect(problem({ keyFile: 'f', keyCommand: ['c'] })).toContain('needs either keyFile or keyCommand');
    expect(problem({ keyFile: 'f', resources: ['Secrets'] })).toBe(
      '"Secrets": write a resource, such as secrets or widgets.example.com',
    );
    expect(problem({ keyFile: 'f', resources: ['*'] })).toContain('write a resource');
    expect(problem({ keyFile: 'f', keys: [] })).toContain('keys');
    expect(topologyEncryptionSchema.safeParse({ keyFile: 'f', keyCommand: ['c'] }).success).toBe(false);
  });
});
