import { describe, expect, it } from 'vitest';
import { describeError } from '../../../../core/runtime/errors.ts';

describe('the text of a thrown value', () => {
  it('is the message of the error, or the text of any other value', () => {
    expect(describeError(new Error('no'))).toBe('no');
    expect(describeError('no')).toBe('no');
  });

  it('names for a host name why each of its addresses failed, once for each reason', () => {
    const each = ['ECONNREFUSED ::1:1', 'ECONNREFUSED 127.0.0.1:1', 'ECONNREFUSED ::1:1'];
    const all = new AggregateError(each.map((message) => new Error(message)));
    expect(describeError(all)).toBe('ECONNREFUSED ::1:1; ECONNREFUSED 127.0.0.1:1');
    expect(describeError(new AggregateError([], 'none'))).toBe('none');
    expect(describeError(new AggregateError([]))).toBe('');
  });
});
