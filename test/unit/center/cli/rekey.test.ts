/** `banyan rekey` on a node that does not run, with somebody else at its key file. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { rekey } from '../../../../center/cli/rekey.ts';
import { openNodeStore } from '../../../../core/encryption/open-store.ts';
import { formatKeys, newSealingKey, parseKeys } from '../../../../core/encryption/sealing-keys.ts';
import { systemClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { systemRandom } from '../../../../core/runtime/random.ts';

describe('a change of keys', () => {
  let folder = '';
  let keyFile = '';
  let config = '';
  const options = { dropOld: false, timeoutSeconds: 30 };
  const ports = (print: (line: string) => void = () => {}) => ({ clock: systemClock, random: systemRandom, print });
  const keysNow = () => parseKeys(readFileSync(keyFile, 'utf8'), keyFile).map(({ id }) => id);

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'banyan-rekey-'));
    [keyFile, config] = [join(folder, 'eu.keys'), join(folder, 'eu.yaml')];
    writeFileSync(keyFile, formatKeys([newSealingKey(systemRandom)]), { mode: 0o600 });
    const directory = join(folder, 'store');
    const encryption = { resources: ['secrets'], keyFile };
    writeFileSync(config, stringify({ path: 'eu', data: directory, encryption }));
    const store = { directory, encryption, clock: systemClock, random: systemRandom, log: silentLogger };
    await (await openNodeStore(store))[Symbol.asyncDispose]();
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('excludes another one, which changes nothing and says so', async () => {
    const [former] = keysNow();
    const ends = await Promise.allSettled([1, 2].map(() => rekey([config], options, ports())));
    expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(ends.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { code: 'Unavailable', message: expect.stringMatching(/^eu: another rekey works .* wait for its end/) },
    });
    expect(keysNow()).toEqual([expect.any(String), former]);
    // The lock has ended with the command.
    await rekey([config], options, ports());
    expect(keysNow()).toHaveLength(3);
  });

  it('removes no key if somebody has put another one into the file meanwhile', async () => {
    const lines: string[] = [];
    const other = newSealingKey(systemRandom);
    const print = (line: string) => {
      lines.push(line);
      if (!line.includes('does not run')) return;
      writeFileSync(keyFile, formatKeys([other, ...parseKeys(readFileSync(keyFile, 'utf8'), keyFile)]));
    };
    await rekey([config], { ...options, dropOld: true }, ports(print));
    expect(keysNow()).toEqual([other.id, expect.any(String), expect.any(String)]);
    expect(lines.join('\n')).toContain(`somebody has changed ${keyFile} meanwhile: no key was removed`);
  });

  it('removes the former keys otherwise', async () => {
    const [former] = keysNow();
    await rekey([config], { ...options, dropOld: true }, ports());
    expect(keysNow()).toEqual([expect.not.stringContaining(former!)]);
  });
});
