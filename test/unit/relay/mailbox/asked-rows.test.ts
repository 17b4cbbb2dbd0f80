import { beforeEach, describe, expect, it } from 'vitest';
import { entryKey } from '../../../../core/entries/entry-keys.ts';
import { placementId } from '../../../../core/entries/placement-id.ts';
import { canonicalBytes } from '../../../../core/object/canonical.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { text } from '../../../../core/store/bytes.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { askedKeys, unaskedFlaw } from '../../../../relay/mailbox/asked-rows.ts';
import { type Mailbox, Mailboxes } from '../../../../relay/mailbox/mailboxes.ts';

const key = { group: '', resource: 'configmaps', namespace: 'found', name: 'one' };

describe('an object that a child reports', () => {
  let store: MemoryStore;
  let mailbox: Mailbox;

  beforeEach(() => {
    store = new MemoryStore();
    const mailboxes = new Mailboxes(store, new SeededRandom(1), 'boot', '');
    mailbox = store.write((t) => mailboxes.ensure(t, 'eu', 'relay'));
  });

  const ask = (name: string, ...upsync: object[]) =>
    store.write((t) =>
      mailbox.producer.put(
        t,
        {
          key: entryKey.rules(placementId('center.retail', name)),
          attributes: text('{}'),
          body: text(JSON.stringify({ associated: [], upsync })),
        },
        1,
      ),
    );
  const flaw = (refs: string[], returnTo = 'Parent', labels = {}) =>
    store.read(
      (reader) =>
        unaskedFlaw(reader, mailbox.producer, {
          key: entryKey.upsynced('center.retail', 'eu:till', key),
          attributes: text(JSON.stringify({ refs, namespaced: true, returnTo })),
          body: canonicalBytes({
            apiVersion: 'v1',
            kind: 'ConfigMap',
            metadata: { name: 'one', namespace: 'found', labels },
          }),
        })?.reason,
    );
  const found = { apiGroup: '', resources: ['configmaps'], namespaces: ['found'] };

  it('is valid if a rule of each of its placements names it', () => {
    expect(flaw(['a'])).toContain('of these placements at this node: a');
    ask('a', { ...found, namespaces: ['other'] }, found);
    expect(flaw(['a'])).toBeUndefined();
    expect(flaw(['a', 'b'])).toContain('of these placements at this node: b');
    ask('b', found);
    expect(flaw(['a', 'b'])).toBeUndefined();
    expect(flaw([])).toContain('the entry names none');
  });

  it('is judged by its labels', () => {
    ask('a', { ...found, labelSelectors: [{ matchLabels: { report: 'yes' } }] });
    expect(flaw(['a'])).toContain('no rule');
    expect(flaw(['a'], 'Parent', { report: 'yes' })).toBeUndefined();
  });

  it('goes on to the center only if a rule says so', () => {
    ask('a', found);
    expect(flaw(['a'], 'Center')).toContain('to return the object to the center');
    ask('a', { ...found, returnTo: 'Center' });
    expect(flaw(['a'], 'Center')).toBeUndefined();
  });

  it('is no longer asked for when the placement has left the child', () => {
    ask('a', found);
    store.write((t) => mailbox.producer.remove(t, hash128(entryKey.rules(placementId('center.retail', 'a'))), 2));
    expect(flaw(['a'])).toContain('no rule');
  });

  it('is judged again by the beginning of its key', () => {
    expect(entryKey.upsynced('center.retail', 'eu', key).startsWith(askedKeys)).toBe(true);
  });
});
