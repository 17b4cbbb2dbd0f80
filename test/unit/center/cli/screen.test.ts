import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { coloured, type Screen, showOn } from '../../../../center/cli/screen.ts';

function screenOf(isTerminal: boolean, hasColours = false) {
  const written: string[] = [];
  const screen: Screen = { isTerminal, hasColours, write: (text) => written.push(text) };
  return { screen, written };
}

it('colours states as whole words, and only where the screen has colours', () => {
  const text = 'eu  Connected\nus  Disconnected\nReady=True\n3 stale, 0 failed\nReady-made Connectedness';
  expect(coloured(text, { hasColours: false })).toBe(text);
  expect(coloured(text, { hasColours: true })).toBe(
    'eu  \x1b[32mConnected\x1b[39m\nus  \x1b[31mDisconnected\x1b[39m\n\x1b[32mReady=True\x1b[39m\n\x1b[33m3 stale\x1b[39m, 0 failed\nReady-made Connectedness',
  );
});

describe('a text that is shown', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('is shown once without --watch', async () => {
    const { screen, written } = screenOf(true);
    await showOn(async () => 'a', false, screen);
    expect(written).toEqual(['a\n']);
  });

  it('is updated in place on a terminal, and stays while it can not be made', async () => {
    const { screen, written } = screenOf(true);
    let times = 0;
    const make = async () => {
      if (++times === 2) throw new Error('no answer');
      return `a\n${times}`;
    };
    void showOn(make, true, screen);
    await vi.advanceTimersByTimeAsync(2_500);
    expect(written).toEqual([
      '\x1b[2J',
      '\x1b[Ha\x1b[K\n1\x1b[K\n\x1b[J',
      '\x1b[Hno answer\x1b[K\n\x1b[J',
      '\x1b[Ha\x1b[K\n3\x1b[K\n\x1b[J',
    ]);
  });

  it('is added to a file or pipe again and again', async () => {
    const { screen, written } = screenOf(false);
    void showOn(async () => 'a', true, screen);
    await vi.advanceTimersByTimeAsync(1_500);
    expect(written).toEqual(['a\n', 'a\n']);
  });
});
