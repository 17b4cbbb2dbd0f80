import { describe, expect, it } from 'vitest';
import { Rekeying } from '../../../../core/encryption/rekeying.ts';
import { SealedStore } from '../../../../core/encryption/sealed-store.ts';
import { sealedValues } from '../../../../core/encryption/sealed-values.ts';
import { keyIdOf, Sealer } from '../../../../core/encryption/sealer.ts';
import { type SealingKey, sealingKey } from '../../../../core/encryption/sealing-keys.ts';
import { putSealingRecord, readSealingRecord, wholeRecord } from '../../../../core/encryption/sealing-record.ts';
import { contentRecordOf, readContent, storeContent } from '../../../../core/feed/content.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import { type Logger, silentLogger } from '../../../../core/runtime/logger.ts';
import { systemRandom } from '../../../../core/runtime/random.ts';
import { asText, prefixRange, text } from '../../../../core/store/bytes.ts';
import { prefixOf } from '../../../../core/store/keyspace.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';

const [one, two, three] = [1, 2, 3].map((byte) => sealingKey(Buffer.alloc(32, byte))) as [
  SealingKey,
  SealingKey,
  SealingKey,
];
const secrets = 1_000;
const secret = (i: number) =>
  contentRecordOf({ key: `o/s//secrets/shop/${i}`, attributes: text('{}'), body: text(`body ${i}`) });

function running() {
  const inner = new MemoryStore();
  const clock = new VirtualClock();
  const sealer = new Sealer(Buffer.alloc(16), [one], systemRandom);
  const store = new SealedStore(inner, sealer, sealedValues(['secrets']));
  inner.write((t) => putSealingRecord(t, wholeRecord(Buffer.alloc(16), ['secrets'], one.id)));
  store.write((t) => {
    for (let i = 0; i < secrets; i++) storeContent(t, secret(i));
  });
  const errors: string[] = [];
  const log: Logger = {
    ...silentLogger,
    error: (fields, message) => void errors.push(JSON.stringify({ fields, message })),
  };
  const file: { keys: readonly SealingKey[]; flaw?: string; changed: boolean } = { keys: [one], changed: false };
  const changedKeys = () => {
    if (file.flaw) throw new BanyanError('BadRequest', file.flaw);
    const changed = file.changed;
    file.changed = false;
    return changed ? file.keys : undefined;
  };
  const rekeying = new Rekeying({ store: inner, sealer, clock, log, changedKeys });
  rekeying.start();
  return {
    inner,
    store,
    clock,
    errors,
    file,
    rekeying,
    put(keys: readonly SealingKey[]) {
      file.keys = keys;
      file.changed = true;
    },
    record: () => inner.read(readSealingRecord)!,
    /** How many contents are sealed with each key. */
    sealedWith: () =>
      inner.read((reader) => {
        const counts: Record<string, number> = {};
        for (const [, value] of reader.scan(prefixRange(prefixOf('content')))) {
          const id = keyIdOf(value) ?? 'clear';
          counts[id] = (counts[id] ?? 0) + 1;
        }
        return counts;
      }),
    /** Lets some virtual time and the flushes in it pass. */
    async pass(ms: number) {
      for (let done = 0; done < ms; done += 10) {
        clock.advance(10);
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  };
}

describe('a node whose key file gets another first key', () => {
  it('seals everything with this key in steps, and says when the former key is not needed', async () => {
    const node = running();
    node.put([two, one]);
    await node.pass(2_010);
    const between = node.sealedWith();
    expect(between[one.id]).toBeGreaterThan(0);
    expect(node.record().settled).toBeUndefined();
    await node.pass(200);
    expect(node.sealedWith()).toEqual({ [two.id]: secrets });
    expect(node.record()).toMatchObject({ keys: [two.id], resealed: secrets, settled: true, remains: true });
    expect(node.store.read((reader) => asText(readContent(reader, secret(7)).body))).toBe('body 7');
    expect(node.errors).toEqual([]);
  });

  it('writes with the new key at once, and reads both meanwhile', async () => {
    const node = running();
    node.put([two, one]);
    await node.pass(2_000);
    const late = contentRecordOf({ key: 'o/s//secrets/shop/late', attributes: text('{}'), body: text('late') });
    node.store.write((t) => storeContent(t, late));
    expect(node.sealedWith()[two.id]).toBeGreaterThan(0);
    for (const content of [late, secret(0), secret(secrets - 1)])
      expect(() => node.store.read((reader) => readContent(reader, content))).not.toThrow();
  });

  it('and then yet another one, ends with the newest', async () => {
    const node = running();
    node.put([two, one]);
    await node.pass(2_010);
    node.put([three, two, one]);
    await node.pass(2_500);
    expect(node.sealedWith()).toEqual({ [three.id]: secrets });
    expect(node.record()).toMatchObject({ keys: [three.id], settled: true });
  });

  it('goes on after a full disk', async () => {
    const node = running();
    node.put([two, one]);
    const { write } = node.inner;
    let full = 3;
    node.inner.write = ((fn) => {
      // First the note of the key fails, then some steps of the pass.
      if (full-- > 0) throw new BanyanError('StoreFull', 'full');
      return write.call(node.inner, fn);
    }) as typeof write;
    await node.pass(2_500);
    expect(node.record().keys).toEqual([one.id]);
    await node.pass(10_000);
    expect(node.sealedWith()).toEqual({ [two.id]: secrets });
    expect(node.record().settled).toBe(true);
  });

  it('does nothing more after its end', async () => {
    const node = running();
    node.put([two, one]);
    await node.rekeying[Symbol.asyncDispose]();
    await node.pass(10_000);
    expect(node.sealedWith()).toEqual({ [one.id]: secrets });
  });
});

describe('a key file that can not be used', () => {
  it('is told once, and the node goes on with the keys that it has', async () => {
    const node = running();
    node.file.flaw = 'encryption.keyFile: keys: line 1 is no base64';
    await node.pass(10_000);
    expect(node.errors).toEqual([expect.stringContaining('line 1 is no base64')]);
    expect(node.sealedWith()).toEqual({ [one.id]: secrets });
    delete node.file.flaw;
    node.put([two, one]);
    await node.pass(3_000);
    expect(node.record()).toMatchObject({ keys: [two.id], settled: true });
  });

  it('because it lacks the former key, is told, and the running node still ends the change', async () => {
    const node = running();
    node.put([two]);
    await node.pass(3_000);
    expect(node.errors).toEqual([expect.stringContaining('values are sealed with a key that the file lacks')]);
    expect(node.sealedWith()).toEqual({ [two.id]: secrets });
  });
});
