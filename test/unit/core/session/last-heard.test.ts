import { describe, expect, it } from 'vitest';
import {
  forgetHeard,
  lastAlive,
  lastHeard,
  noteAlive,
  noteAttached,
  noteDetached,
} from '../../../../core/session/last-heard.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';

function heard(store: MemoryStore, child: string): number | undefined {
  return store.read((reader) => lastHeard(reader, child, lastAlive(reader)));
}

describe('the time at which a child was last heard', () => {
  it('is unknown for a child that has never attached', () => {
    const store = new MemoryStore();
    store.write((t) => noteAlive(t, 9_000));
    expect(heard(store, 'a')).toBeUndefined();
  });

  it('is the end of its last session', () => {
    const store = new MemoryStore();
    store.write((t) => noteAttached(t, 'a', 1_000));
    store.write((t) => noteDetached(t, 'a', 5_000));
    store.write((t) => noteAlive(t, 9_000));
    expect(heard(store, 'a')).toBe(5_000);
  });

  it('is the last time of the node if the process ended while the child was attached', () => {
    const store = new MemoryStore();
    store.write((t) => noteAttached(t, 'a', 1_000));
    expect(heard(store, 'a')).toBe(1_000);
    store.write((t) => noteAlive(t, 9_000));
    store.write((t) => noteAttached(t, 'b', 9_500));
    expect([heard(store, 'a'), heard(store, 'b')]).toEqual([9_000, 9_500]);
  });

  it('is forgotten with the child, also if its session ends afterwards', () => {
    const store = new MemoryStore();
    store.write((t) => noteAttached(t, 'a', 1_000));
    store.write((t) => forgetHeard(t, 'a'));
    store.write((t) => noteDetached(t, 'a', 2_000));
    expect(heard(store, 'a')).toBeUndefined();
  });
});
