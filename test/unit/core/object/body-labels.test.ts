import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { labelsInBody } from '../../../../core/object/body-labels.ts';
import { canonicalBytes } from '../../../../core/object/canonical.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';

describe('labels in canonical bytes', () => {
  const json = fc.jsonValue({ maxDepth: 3 });
  const objects = fc.record({
    metadata: fc.record(
      {
        annotations: fc.dictionary(fc.string(), fc.string()),
        labels: fc.dictionary(fc.string(), fc.string()),
        managedFields: fc.array(json),
        generation: fc.integer(),
        name: fc.string(),
        ownerReferences: json,
      },
      { requiredKeys: [] },
    ),
    spec: json,
  });

  it('are those of the parsed object, whatever else the object has', () => {
    void fc.assert(
      fc.property(objects, (object) => {
        const body = canonicalBytes(object as unknown as KubeObject);
        const parsed = JSON.parse(Buffer.from(body).toString()) as KubeObject;
        expect(labelsInBody(body)).toEqual(parsed.metadata.labels ?? {});
      }),
      { numRuns: 2_000 },
    );
  });

  it('are read where a field before them has this name inside, with quotes and brackets', () => {
    const annotations = { 'kubectl/last': '{"metadata":{"labels":{"a":"\\"]}"}}}', labels: 'none\\' };
    const metadata = { name: 'a', annotations, labels: { app: 'web', '"q"': '}' } };
    expect(labelsInBody(canonicalBytes({ apiVersion: 'v1', kind: 'Pod', metadata }))).toEqual({
      app: 'web',
      '"q"': '}',
    });
  });

  it('are none in an object without metadata', () => {
    expect(labelsInBody(canonicalBytes({ metadata: {} } as KubeObject))).toEqual({});
    const withSpec = { metadata: { name: 'a' }, spec: { labels: { a: 'b' } } };
    expect(labelsInBody(canonicalBytes(withSpec as unknown as KubeObject))).toEqual({});
  });
});
