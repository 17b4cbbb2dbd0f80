import { describe, expect, it } from 'vitest';
import { sealingKey } from '../../../../core/encryption/sealing-keys.ts';
import { sealingPlan } from '../../../../core/encryption/sealing-plan.ts';
import { wholeRecord, withFirstKey, withPassEnded } from '../../../../core/encryption/sealing-record.ts';

const one = sealingKey(Buffer.alloc(32, 1));
const two = sealingKey(Buffer.alloc(32, 2));
const record = wholeRecord(new Uint8Array(16), ['secrets'], one.id);
const wanted = { resources: ['secrets'], keys: [one] };

describe('without a record, the store', () => {
  it.each([
    [undefined, true, { act: 'open-clear' }],
    [undefined, false, { act: 'open-clear' }],
    [{ resources: [], keys: [one] }, false, { act: 'open-clear' }],
    [wanted, true, { act: 'begin' }],
    [wanted, false, { act: 'rewrite', sealed: true, why: 'encryption was turned on' }],
  ])('with %j, empty: %j', (config, isEmpty, plan) => {
    expect(sealingPlan(undefined, isEmpty, config, 'DIR')).toEqual(plan);
  });
});

describe('a sealed store', () => {
  it('is opened as it is, also with another first key', () => {
    expect(sealingPlan(record, false, wanted, 'DIR').act).toBe('open-sealed');
    expect(sealingPlan(record, false, { ...wanted, keys: [two, one] }, 'DIR').act).toBe('open-sealed');
  });

  it('is written anew to be turned off, for other resources, and after a change of keys', () => {
    const act = { act: 'rewrite' };
    expect(sealingPlan(record, false, { ...wanted, resources: [] }, 'DIR')).toMatchObject({ ...act, sealed: false });
    expect(sealingPlan(record, false, { ...wanted, resources: ['secrets', 'configmaps'] }, 'DIR')).toMatchObject(act);
    const changed = withPassEnded(withFirstKey(record, two.id));
    expect(sealingPlan(changed, false, { ...wanted, keys: [two] }, 'DIR')).toMatchObject({ ...act, sealed: true });
  });

  it('is not written anew for the same resources in another order', () => {
    const several = wholeRecord(new Uint8Array(16), ['a', 'b'], one.id);
    expect(sealingPlan(several, false, { ...wanted, resources: ['b', 'a'] }, 'DIR').act).toBe('open-sealed');
  });

  it('is refused without its keys, with the directory and the remedy', () => {
    expect(() => sealingPlan(record, false, undefined, 'DIR')).toThrow(
      `encryption: is missing, but the store in DIR is sealed with the key ${one.id}; name its keys in \`encryption\``,
    );
    expect(() => sealingPlan(record, false, { ...wanted, keys: [two] }, 'DIR')).toThrow(
      `encryption: the store in DIR is sealed with the key ${one.id}, and the given keys are ${two.id}; put the missing key back`,
    );
    expect(() => sealingPlan(record, false, { resources: [], keys: [two] }, 'DIR')).toThrow('put the missing key back');
  });

  it('needs all its keys while a pass has not ended', () => {
    const between = withFirstKey(record, two.id);
    expect(() => sealingPlan(between, false, { ...wanted, keys: [two] }, 'DIR')).toThrow('put the missing key back');
    expect(sealingPlan(between, false, { ...wanted, keys: [two, one] }, 'DIR').act).toBe('open-sealed');
  });
});
