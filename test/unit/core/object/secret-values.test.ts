import { describe, expect, it } from 'vitest';
import { isSecret, withoutSecretValues } from '../../../../core/object/secret-values.ts';

const secret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: {
    name: 'till',
    uid: 'u',
    labels: { app: 'till' },
    annotations: { applied: '{"data":{"pin":"NDcxMQ=="}}' },
  },
  type: 'Opaque',
  immutable: true,
  data: { pin: 'NDcxMQ==', ['__proto__']: 'NDcxMQ==' },
  stringData: { text: '4711' },
};

describe('a Secret without its values', () => {
  it('has the names in data, stringData and the annotations, no uid, and everything else', () => {
    expect(withoutSecretValues(secret)).toEqual({
      ...secret,
      metadata: { ...secret.metadata, uid: null, annotations: { applied: null } },
      data: { pin: null, ['__proto__']: null },
      stringData: { text: null },
    });
    expect(JSON.stringify(withoutSecretValues(secret))).not.toMatch(/NDcx|4711/);
  });

  it('does not change the object that was given', () => {
    const before = JSON.stringify(secret);
    withoutSecretValues(secret);
    expect(JSON.stringify(secret)).toBe(before);
  });

  it('shows nothing of data that is no map, and gets no field that was not there', () => {
    const { stringData: _stringData, ...rest } = secret;
    expect(withoutSecretValues({ ...rest, data: '4711' })).not.toHaveProperty('stringData');
    expect(withoutSecretValues({ ...rest, data: '4711' })).toMatchObject({ data: null });
  });

  it('is made of Secrets alone', () => {
    const map = { ...secret, kind: 'ConfigMap' };
    expect(withoutSecretValues(map)).toBe(map);
    const other = { ...secret, apiVersion: 'example.com/v1' };
    expect(withoutSecretValues(other)).toBe(other);
    expect([secret, map, other].map(isSecret)).toEqual([true, false, false]);
  });
});
