import { describe, expect, it } from 'vitest';
import { canonicalBytes } from '../../../../../core/object/canonical.ts';
import type { KubeObject } from '../../../../../core/object/meta.ts';
import { text } from '../../../../../core/store/bytes.ts';
import { compileSummarizer } from '../../../../../core/summary/summarizer.ts';
import { locationFactsOf, RowReader } from '../../../../../relay/gather/summaries/summary-rows.ts';

const encoded = 'NDcxMQ==';
const holder = (kind: string): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name: 'till', uid: 'u', namespace: 'shop', annotations: { applied: encoded } },
  data: { pin: encoded },
});
const place = locationFactsOf('eu:one', undefined);
const object = { group: '', resource: 'any', namespace: 'shop', name: 'till' };

/** The row of an object that was sent down. */
function sentRow(kind: string) {
  const reader = new RowReader();
  const attributes = text(JSON.stringify({ uid: 'u', created: '2026-01-01T00:00:00Z', generation: 1 }));
  const content = reader.content({ hash: text(kind) }, () => ({
    key: 'o/any',
    attributes,
    body: canonicalBytes(holder(kind)),
  }));
  const state = { key: 's/any', attributes: text('{"applied":true,"available":true}'), body: text('') };
  const delivered = { originRevision: 1n } as never;
  return reader.row({ path: 'eu:one', object, delivered, content, place, state, heldBack: [] });
}

/** The row of an object that a cluster has reported. */
function reportedRow(kind: string) {
  return new RowReader().edgeObjectRow({ path: 'eu:one', object, place, body: canonicalBytes(holder(kind)) });
}

/** What a summary has of one row, as text: the values, or the mistake. */
function seen(row: ReturnType<typeof sentRow>, ...expressions: string[]): string {
  const select = expressions.map((def, i) => ({ name: `c${i}`, def }));
  return JSON.stringify(compileSummarizer({ select, limit: 1, maxGroups: 1 }).evaluate(row), (_name, value) =>
    typeof value === 'bigint' ? String(value) : value,
  );
}

describe.each([
  ['sent down', 'obj', sentRow],
  ['reported by a cluster', 'returned', reportedRow],
] as const)('an object that was %s, as expressions see it', (_name, variable, rowOf) => {
  const values = [`${variable}.data.pin`, `${variable}.metadata.annotations.applied`, `${variable}.kind`];
  const uid = `${variable}.metadata.uid`;

  it('has its values', () => {
    expect(seen(rowOf('ConfigMap'), uid)).toContain('"values":["u"]');
    expect(seen(rowOf('ConfigMap'), ...values)).toContain(`"values":["${encoded}","${encoded}","ConfigMap"]`);
  });

  it('has no value if it is a Secret: the names in it are there, and each value is null', () => {
    expect(seen(rowOf('Secret'), uid)).toContain('"values":[null]');
    expect(seen(rowOf('Secret'), ...values)).toContain('"values":[null,null,"Secret"]');
    expect(seen(rowOf('Secret'), `has(${variable}.data.pin)`, `${variable}.data.size()`)).toContain('[true,1]');
  });

  it.each([
    `string(${variable}.data)`,
    `${variable}.data.pin + 'x'`,
    `int(${variable}.data.pin)`,
    `${variable}.data.exists(name, ${variable}.data[name] == '${encoded}')`,
    `${variable}.data.pin == '${encoded}'`,
    `json(${variable})`,
  ])('says nothing about a value of a Secret by %s, nor by the mistake of it', (expression) => {
    let outcome: string;
    try {
      outcome = seen(rowOf('Secret'), expression);
    } catch (error) {
      outcome = String(error);
    }
    expect(outcome.replaceAll(expression, '')).not.toMatch(/NDcx|4711|true/);
  });
});
