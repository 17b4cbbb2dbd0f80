import { expect, test } from 'vitest';
import { removalMessage, terminatingMessage } from '../../../../core/object/terminating.ts';

const going = (more: object, status?: object) => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: 'shop', deletionTimestamp: '2026-01-02T03:04:05Z', ...more },
  ...(status ? { status } : {}),
});

test('an object that waits for nothing is only late', () => {
  expect(terminatingMessage(going({}))).toBe(
    'the object is being deleted since 2026-01-02T03:04:05Z, and is applied again when it is gone',
  );
});

test('finalizers are named, with a remedy', () => {
  expect(terminatingMessage(going({ finalizers: ['a.example/x', 'b.example/y'] }))).toMatch(
    /; it waits for a\.example\/x, b\.example\/y: if the controller that sets them does not run any more, remove them/,
  );
});

test('a namespace’s own conditions name its remaining contents', () => {
  const conditions = [
    { type: 'NamespaceDeletionDiscoveryFailure', status: 'False', message: 'All resources successfully discovered' },
    {
      type: 'NamespaceContentRemaining',
      status: 'True',
      message: 'Some resources are remaining: configmaps. has 1 resource instances',
    },
    {
      type: 'NamespaceFinalizersRemaining',
      status: 'True',
      message: 'Some content has finalizers remaining: a.example/x in 1 resource instances',
    },
  ];
  const message = terminatingMessage(going({ finalizers: ['other'] }, { conditions }));
  expect(message).toMatch(
    /it waits: Some resources are remaining: configmaps\..* a\.example\/x in 1 resource instances$/,
  );
  expect(message).not.toMatch(/discovered|other/);
});

test('the message stays short, whatever the cluster holds', () => {
  const finalizers = Array.from({ length: 1_000 }, (_, i) => `f${i}.example.com/keep`);
  expect(terminatingMessage(going({ finalizers })).length).toBeLessThan(800);
  expect(terminatingMessage(going({}, { conditions: 'none' }))).toContain('is being deleted');
});

test('the message does not promise that an unwanted object comes back', () => {
  expect(removalMessage(going({ finalizers: ['a.example/x'] }))).toMatch(
    /^the object is being deleted since 2026-01-02T03:04:05Z, as nobody wants it any more; it waits for a\.example\/x/,
  );
});
