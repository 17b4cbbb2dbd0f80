import { describe, expect, it } from 'vitest';
import type { ChildRole } from '../../../../core/entries/entry-kind.ts';
import { checkReporter, reportedFlaw } from '../../../../core/entries/up-check.ts';
import { emptyLabelSummary, encodeLabelSummary } from '../../../../core/match/label-summary.ts';
import { asText } from '../../../../core/store/bytes.ts';
import { emptyPartial, encodePartial } from '../../../../core/summary/partial.ts';
import { unknownPartial } from '../../../../core/summary/status-partial.ts';
import { encodeStatusPartial } from '../../../../core/summary/status-partial-wire.ts';
import { otherKinds } from '../../../../core/summary/status-rules.ts';
import { encodeUserPartial } from '../../../../core/summary/user-partial-wire.ts';
import { summarizer } from '../summary/support.ts';

const bytes = (value: unknown) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value));

function check(
  key: string,
  { attributes = {}, body = '', role = 'relay' }: { attributes?: unknown; body?: unknown; role?: ChildRole } = {},
) {
  const after = { key, attributes: Buffer.isBuffer(attributes) ? attributes : bytes(attributes), body: bytes(body) };
  return () => {
    checkReporter('eu:paris', { key });
    const flaw = reportedFlaw({ path: 'eu:paris', role }, after);
    if (flaw) throw new Error(flaw.reason);
  };
}

describe('an entry that a child reports', () => {
  it('is accepted if it matches its key', () => {
    const partial = Buffer.from(encodePartial(emptyPartial(1, 2))).toString();
    const { empty } = summarizer({ combinedFields: [{ name: 'n', type: 'COUNT', k: 10 }] });
    const summary = Buffer.from(encodeUserPartial(empty)).toString();
    const labels = Buffer.from(encodeLabelSummary(emptyLabelSummary));
    const state = { desired: 1, applied: true, available: false, reason: 'Pending' };
    expect(check('labels', { attributes: labels })).not.toThrow();
    expect(check('labels', { attributes: labels, body: labels.toString() })).not.toThrow();
    expect(check('partial/center.retail/shop', { body: partial })).not.toThrow();
    expect(check('state/center.retail//configmaps/shop/till', { role: 'agent', attributes: state })).not.toThrow();
    expect(check('sum/center.retail/shop/images', { body: summary })).not.toThrow();
    expect(check('gone/center.retail/shop', { role: 'agent', attributes: { asked: 3 } })).not.toThrow();
    expect(check('node/eu:paris', { attributes: { role: 'relay', version: '1' } })).not.toThrow();
    expect(check('node/eu:paris:deep', { attributes: { role: 'relay', version: '1' } })).not.toThrow();
  });

  it('is ignored if its key is of a later version', () => {
    expect(check('weather/eu', { attributes: 'anything' })).not.toThrow();
  });

  it('is refused with the name of the wrong field', () => {
    expect(check('labels', { attributes: { leaves: -1, sets: [] } })).toThrow(
      /a label summary that is not valid: leaves: /,
    );
    expect(check('labels', { attributes: { leaves: 1 } })).toThrow('neither sets nor keys');
    expect(check('labels', { attributes: '{' })).toThrow('a label summary that is no JSON');
    expect(check('labels', { attributes: { leaves: 0, sets: [] }, body: { leaves: 1 } })).toThrow(
      'neither sets nor keys',
    );
    expect(check('partial/center.retail/shop', { body: { generation: 1, target: 1, failures: [] } })).toThrow(
      /a partial that is not valid: counts is missing/,
    );
    expect(check('sum/center.retail/shop/images', { body: { rows: 1 } })).toThrow(
      /a summary that is not valid: spec is missing/,
    );
    expect(check('state/center.retail//configmaps/shop/till', { role: 'agent', attributes: { desired: 1 } })).toThrow(
      /applied is missing/,
    );
    expect(check('gone/center.retail/shop', { role: 'agent', attributes: { asked: -1 } })).toThrow(/asked: /);
    expect(check('node/eu:paris', { attributes: { role: 'king', version: '1' } })).toThrow(/role: /);
    const agent = { role: 'agent', version: '1' };
    expect(check('node/eu:paris', { attributes: { ...agent, nodes: -1 } })).toThrow(/nodes: /);
    expect(check('node/eu:paris', { attributes: { ...agent, served: ['pods'] } })).toThrow(/served\[0\]/);
    expect(check('node/eu:paris', { attributes: { ...agent, served: Array(501).fill('/pods:v1') } })).toThrow(
      /served has 501 entries/,
    );
    const state = { desired: 1, applied: true, available: false };
    expect(
      check('state/center.retail//configmaps/shop/till', { role: 'agent', attributes: state, body: '{"a":' }),
    ).toThrow('the status of state/center.retail//configmaps/shop/till that is no JSON');
    const about = { uid: 'u', generation: 1 };
    expect(check('aggregate/center.retail//pods/shop/till', { attributes: about, body: '3' })).toThrow(
      /a status partial that is not valid/,
    );
    expect(check('state/center.retail/till')).toThrow('the key names no object');
  });

  it('is refused if it is of a node elsewhere, or of a kind that only a parent may send', () => {
    const attributes = { role: 'relay', version: '1' };
    expect(check('node/eu:rome', { attributes })).toThrow(
      '"eu:paris" speaks for the node "eu:rome", which is not below it',
    );
    expect(check('node/eu:parish', { attributes })).toThrow('which is not below it');
    expect(check('o/center.retail//configmaps/shop/till')).toThrow('which only a parent may send');
    expect(check('tree')).toThrow('which only a parent may send');
  });

  it('is refused if an agent reports an entry that only relays report, or an entry of another node', () => {
    const labels = { leaves: 1, sets: [] };
    const place = { standing: 'waiting', reason: 'r', message: 'm' } as const;
    const summary = asText(encodeUserPartial(summarizer({}).empty));
    const node = { version: '1' };
    const born = { refs: [], namespaced: true, returnTo: 'Center' };
    const till = { metadata: { name: 'till', namespace: 'shop' }, apiVersion: 'v1', kind: 'ConfigMap' };
    const aggregate = asText(encodeStatusPartial(unknownPartial(otherKinds, { ...place, path: 'eu' }, 1)));
    const ofRelays: [string, { attributes?: unknown; body?: unknown }][] = [
      ['attach/till', { attributes: { sequence: 1, role: 'agent' } }],
      ['term', { attributes: { term: 1 } }],
      ['own-revoked', { attributes: { users: { jo: 1 } } }],
      ['labels', { attributes: labels }],
      ['sum/center.retail/shop/images', { body: summary }],
      ['aggregate/center.retail//pods/shop/till', { attributes: { uid: 'u', generation: 1 }, body: aggregate }],
      ['node/eu:paris:deep', { attributes: { ...node, role: 'relay' } }],
      ['up/center.retail/eu:paris:deep//configmaps/shop/till', { attributes: born, body: till }],
    ];
    for (const [key, entry] of ofRelays) {
      expect(check(key, entry)).not.toThrow();
      expect(check(key, { ...entry, role: 'agent' })).toThrow(`only relays report "${key}"`);
    }
    const ofAgents: [string, { attributes?: unknown; body?: unknown }][] = [
      ['node/eu:paris', { attributes: { ...node, role: 'agent' } }],
      ['up/center.retail/eu:paris//configmaps/shop/till', { attributes: born, body: till }],
      ['seen/center.retail', { attributes: { revision: 3 } }],
      ['has/center.retail/shop', { attributes: { release: 1, handed: true } }],
      ['weather/eu', { attributes: 'anything' }],
    ];
    for (const [key, entry] of ofAgents) expect(check(key, { ...entry, role: 'agent' })).not.toThrow();
    for (const key of ['tree', 'node/eu:rome']) {
      // The session of the child ends.
      const after = { key, attributes: bytes({ ...node, role: 'agent' }), body: bytes('') };
      expect(reportedFlaw({ path: 'eu:paris', role: 'agent' }, after)).toBeUndefined();
      expect(check(key, { role: 'agent' })).toThrow();
    }
  });

  it('is a whole object only if it is the object of its key, in the form that views insert', () => {
    const metadata = { metadata: { name: 'till', namespace: 'shop' } };
    const object = { ...metadata, apiVersion: 'wgpolicyk8s.io/v1alpha2', kind: 'PolicyReport' };
    const key = 'wgpolicyk8s.io/policyreports/shop/till';
    const up = (path: string) => `up/center.retail/${path}/${key}`;
    const attributes = { refs: ['p'], namespaced: true, returnTo: 'Center' };
    expect(check(up('eu:paris:rivoli'), { attributes, body: object })).not.toThrow();
    expect(check(up('us:market'), { attributes, body: object })).toThrow('"us:market", which is not below it');
    expect(check(up('eu:paris'), { attributes: { ...attributes, returnTo: 'Moon' }, body: object })).toThrow(
      /returnTo/,
    );
    expect(check(up('eu:paris'), { attributes, body: '{"metadata":' })).toThrow('is no JSON');
    expect(check(up('eu:paris'), { attributes, body: { ...object, apiVersion: 'v1' } })).toThrow(
      'is not the object that the key names',
    );
    const assoc = (body: object, more = {}) =>
      check(`assoc/center.retail/${key}`, {
        role: 'agent',
        attributes: { owner: 'o', namespaced: true, refs: ['p'], ...more },
        body,
      });
    expect(assoc(object)).not.toThrow();
    expect(assoc(object, { owner: 1 })).toThrow(/owner: /);
    expect(assoc(object, { refs: undefined })).toThrow(/refs is missing/);
    expect(assoc({ apiVersion: object.apiVersion, kind: object.kind, ...metadata })).toThrow('canonical form');
    expect(assoc({ ...object, metadata: { name: 'other', namespace: 'shop' } })).toThrow(
      'is not the object that the key names',
    );
  });
});
