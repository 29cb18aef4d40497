#!/bin/sh
# Unpacks herd7 of Debian unstable into a folder of its own, with the C library that it needs, and
# writes a program there that starts it: nothing is installed. On x86-64, with apt.
#
#     ci/herd7.sh [FOLDER]                  # default: target/herd7
#     TAUTLINE_HERD7=FOLDER/herd7 cargo ci litmus
set -eu

mkdir -p "${1:-target/herd7}"
folder=$(cd "${1:-target/herd7}" && pwd)
root=$folder/root
mkdir -p "$root" "$folder/lists/partial" "$folder/cache/archives/partial"
: > "$folder/status"
keys=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb [signed-by=$keys] http://deb.debian.org/debian unstable main" > "$folder/sources.list"

apt() {
    apt-get -qq -o Dir::Etc::SourceList="$folder/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::State::Lists="$folder/lists" -o Dir::State::Status="$folder/status" \
        -o Dir::Cache="$folder/cache" -o APT::Sandbox::User= -o Acquire::Languages=none "$@"
}

apt update
cd "$folder"
rm -f ./*.deb
apt download herdtools7 libc6 libgmp10
for package in ./*.deb; do
    dpkg -x "$package" "$root"
done
rm -rf ./*.deb lists cache
# The other tools are ten times as large.
find "$root/usr/bin" -type f ! -name herd7 -delete

lib=$root/usr/lib/x86_64-linux-gnu
cat > herd7 <<END
#!/bin/sh
exec "$lib/ld-linux-x86-64.so.2" --library-path "$lib" "$root/usr/bin/herd7" -set-libdir "$root/usr/share/herdtools7/herd" "\$@"
END
chmod +x herd7
./herd7 -version
