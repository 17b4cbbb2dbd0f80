import { describe, expect, it } from 'vitest';
import { sources } from './imports.ts';

const product = [...sources()].filter(([file]) => /^(core|relay|edge-agent|center)\//.test(file));
const topics = product.flatMap(([, text]) =>
  Array.from(text.matchAll(/^export const (\w+Topic) = new Topic/gm), ([, name]) => name!),
);

/** Files in which the topic stands behind one of these calls. */
function users(topic: string, calls: string): string[] {
  const use = new RegExp(
    `(${calls})\\((?:store, |\\[[^\\]]*)?\\s*${topic}\\b|of \\[[^\\]]*\\b${topic}\\b[^\\]]*\\]\\)\\s*(${calls})\\(`,
  );
  return product.flatMap(([file, text]) => (use.test(text) ? [file] : []));
}

describe.each(topics)('the topic %s', (topic) => {
  it('has a part that announces it, and a part that acts on it', () => {
    expect(users(topic, 'announce')).not.toEqual([]);
    expect(users(topic, 'on|each|subscribe|subscribeTo')).not.toEqual([]);
  });
});

it('all topics are found', () => {
  expect(topics).toEqual(expect.arrayContaining(['producerRowsTopic', 'workTopic', 'contributionTopic']));
});
