// From the letters in the page back to arrays; the form is described in packing.py.

async function unpack(letters) {
  if (typeof DecompressionStream === 'undefined') throw new Error('This browser is too old to unpack the run. Any of 2023 or later can.');
  const text = atob(letters.trim());
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  const all = new Uint8Array(await new Response(stream).arrayBuffer());
  const length = new DataView(all.buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(all.subarray(4, 4 + length)));
  const body = all.subarray(4 + length), arrays = {};
  const lengths = decode(body, head.arrays.stretch_length, null);
  for (const [name, entry] of Object.entries(head.arrays)) arrays[name] = decode(body, entry, name.startsWith('row_') ? lengths : null);
  return { facts: head.facts, arrays };
}

function decode(body, [offset, count, planes, order], lengths) {
  const found = planes > 3 ? new Float64Array(count) : new Int32Array(count);
  for (let k = 0, weight = 1; k < planes; k++, weight *= 256) {
    const at = offset + k * count;
    for (let i = 0; i < count; i++) found[i] += body[at + i] * weight;
  }
  for (let i = 0; i < count; i++) { const n = found[i]; found[i] = n % 2 ? -(n + 1) / 2 : n / 2; }
  if (order === 0) return found;
  let row = 0;
  for (const length of lengths ?? [count]) {
    let value = 0, change = 0;
    for (let k = 0; k < length; k++, row++) {
      if (order === 2 && k > 0) { change += found[row]; value += change; } else value += found[row];
      found[row] = value;
    }
  }
  return found;
}
