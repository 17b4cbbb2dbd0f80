import { describe, expect, it } from 'vitest';
import { SubjectIndex } from '../../../../core/access/subject-index.ts';
import {
  describeSubject,
  keysOf,
  serviceAccountGroups,
  serviceAccountName,
  serviceAccountOf,
  subjectKey,
} from '../../../../core/access/subjects.ts';
import { groupSubject, user, userSubject } from './rbac-objects.ts';

const means = (subject: Parameters<typeof subjectKey>[0], who: ReturnType<typeof user>, namespace = '') =>
  keysOf(who).includes(subjectKey(subject, namespace) ?? 'nobody');

describe('a subject', () => {
  it('of kind User means the user with this name', () => {
    expect(means(userSubject('eve'), user('eve'))).toBe(true);
    expect(means(userSubject('eve'), user('eve2', 'eve'))).toBe(false);
  });

  it('of kind Group means the members', () => {
    expect(means(groupSubject('ops'), user('eve', 'dev', 'ops'))).toBe(true);
    expect(means(groupSubject('ops'), user('ops'))).toBe(false);
  });

  it('of kind ServiceAccount means the account in its namespace, or in the namespace of the binding', () => {
    const till = user('system:serviceaccount:shop:till');
    expect(means({ kind: 'ServiceAccount', name: 'till', namespace: 'shop' }, till)).toBe(true);
    expect(means({ kind: 'ServiceAccount', name: 'till', namespace: 'web' }, till, 'shop')).toBe(false);
    expect(means({ kind: 'ServiceAccount', name: 'till' }, till, 'shop')).toBe(true);
    expect(means({ kind: 'ServiceAccount', name: 'till' }, till)).toBe(false);
    expect(means(userSubject('system:serviceaccount:shop:till'), till)).toBe(true);
  });

  it('of another kind means nobody', () => {
    expect(subjectKey({ kind: 'Team', name: 'eve' }, 'shop')).toBeUndefined();
  });

  it('is described as in kube-apiserver', () => {
    expect(describeSubject(groupSubject('ops'), 'shop')).toBe('Group "ops"');
    expect(describeSubject({ kind: 'ServiceAccount', name: 'till' }, 'shop')).toBe('ServiceAccount "till/shop"');
    expect(describeSubject({ kind: 'ServiceAccount', name: 'till', namespace: 'web' }, 'shop')).toBe(
      'ServiceAccount "till/web"',
    );
  });
});

describe('a ServiceAccount', () => {
  it('has the name and groups of Kubernetes', () => {
    expect(serviceAccountName('shop', 'till')).toBe('system:serviceaccount:shop:till');
    expect(serviceAccountGroups('shop')).toEqual([
      'system:serviceaccounts',
      'system:serviceaccounts:shop',
      'system:authenticated',
    ]);
  });

  it('is found from its name', () => {
    expect(serviceAccountOf('system:serviceaccount:shop:till')).toEqual({ namespace: 'shop', name: 'till' });
    for (const name of [
      'till',
      'system:serviceaccount:shop',
      'system:serviceaccount::till',
      'system:serviceaccount:a:b:c',
    ]) {
      expect(serviceAccountOf(name)).toBeUndefined();
    }
  });
});

describe('the index by subject', () => {
  it('returns each value once, and nothing of others', () => {
    const index = new SubjectIndex<string>();
    index.put('a', 'one', ['User/eve', 'Group/ops', undefined]);
    index.put('b', 'two', ['User/joe']);
    expect([...index.of(user('eve', 'ops', 'ops'))]).toEqual(['one']);
    expect([...index.of(user('ann'))]).toEqual([]);
  });

  it('forgets the subjects that a value had before', () => {
    const index = new SubjectIndex<string>();
    index.put('a', 'one', ['User/eve']);
    index.put('a', 'changed', ['User/joe']);
    expect([...index.of(user('eve'))]).toEqual([]);
    expect([...index.of(user('joe'))]).toEqual(['changed']);
    index.remove('a');
    index.remove('unknown');
    expect([...index.of(user('joe'))]).toEqual([]);
    expect(index.size).toBe(0);
  });
});
