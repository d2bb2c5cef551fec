/** A line of text. The last one may lack its end. */
export type TextLine = { readonly text: string; readonly isWhole: boolean };

/**
 * The lines of a file.
 * @param longest in characters
 * @throws {RangeError} if one is longer
 * @throws {TypeError} if it is not UTF-8: its text would have other bytes than the file
 */
export async function* textLines(chunks: AsyncIterable<Buffer>, longest: number): AsyncGenerator<TextLine> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let rest = '';
  for await (const chunk of chunks) {
    // Not readline, which also splits at U+2028; JSON leaves that as it is.
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const text of lines) yield { text, isWhole: true };
    if (rest.length > longest) throw new RangeError('A line is too long');
  }
  rest += lastOf(decoder);
  if (rest !== '') yield { text: rest, isWhole: false };
}

/** The rest of the decoder: a file may be cut within a character. */
function lastOf(decoder: TextDecoder): string {
  try {
    return decoder.decode();
  } catch {
    return '\ufffd';
  }
}
